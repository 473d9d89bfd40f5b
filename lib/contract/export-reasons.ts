/** What the reason codes of exports and of their files mean. Those of visas, `visa_…`, are explained by `lib/visas`. */
export const exportReasons = {
  malformed_message: 'the message in the queue is not an export request',
  unusable_public_key: 'the public key has no known form, or is a weak point of the curve',
  unknown_dataset: 'the catalogue has no dataset of that id or alias',
  unknown_file: 'the catalogue has no file of that id in any dataset',
  not_entitled: 'no visa of the request grants the dataset',
  not_released: 'the newest event of the dataset is not "released"',
  nothing_to_export: 'the dataset holds no file',
  temporarily_unavailable: 'another service did not answer, or refused for the moment, at each attempt',
  archive_damaged: 'the body or the header of the file contradicts the catalogue',
  archive_location_unknown: 'the catalogue names a bucket that the settings do not have',
  internal_error: 'an unforeseen error: the log of the function has it under the request id',
  no_progress: 'five deliveries of a large file brought no new part',
  no_answer: 'the last attempt recorded no end: it met its time limit, or its process died',
  expired: 'nothing changed for 14 days, and the queue keeps no message longer',
} as const;
