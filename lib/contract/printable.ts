/** Characters that a terminal obeys or hides, and a browser, too: controls, bidi and other format characters, line separators. */
export const notShown = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Text from elsewhere, made safe to show: characters that a terminal or a browser would obey or hide become `\u{…}`. */
export function printable(text: string): string {
  return text.replace(notShown, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
