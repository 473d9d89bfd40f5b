/** The text of an SQL file; esbuild's loader `text` puts it into the bundle. Node itself cannot import SQL files. */
declare module '*.sql' {
  const text: string;
  export default text;
}
