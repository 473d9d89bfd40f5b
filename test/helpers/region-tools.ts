/** What `.ci/interop-regions` has found or fetched of other implementations; `undefined`: it is missing. */
export const tools = {
  /** Programs of a Python environment. */
  python: process.env.REGIONS_PYTHON,
  rclone: process.env.REGIONS_RCLONE,
  /** Packages of npm. */
  modules: process.env.REGIONS_MODULES,
  chromium: process.env.CHROMIUM || undefined,
  /** Class path of `Regions.java` with htsjdk. */
  htsjdk: process.env.REGIONS_HTSJDK,
  /** Program over noodles-htsget: base, id, region. */
  noodles: process.env.REGIONS_NOODLES,
  /** Server of htsget-rs. */
  htsgetRs: process.env.REGIONS_HTSGET_RS,
};
