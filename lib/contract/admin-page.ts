/** The administrators' page as it lies beside the bundle that serves it. */
export interface AdminPage {
  /** The whole page, with its style and its module. {@link archiveKindPlace} stands where the kind of the archive goes. */
  readonly html: string;
  /** Hashes for the Content-Security-Policy, as in `'sha256-…'`. */
  readonly scriptHash: string;
  readonly styleHash: string;
}

/** Stands in the page for the last segment of `POST /export/{archive_kind}`. */
export const archiveKindPlace = '{archiveKind}';

/** File beside the bundle that serves the page. */
export const adminPageFile = 'admin-page.json';
