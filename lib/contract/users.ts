/** A user who may call the administrative endpoints. */
export interface Administrator {
  readonly username: string;
  /** Scrypt in PHC form, or bcrypt. */
  readonly passwordHash: string;
  readonly roles: readonly string[];
}

/** A user of the central archive, who may list and stream. */
export interface ArchiveUser {
  readonly username: string;
  /** Scrypt in PHC form, or bcrypt as the central archive hands it out. */
  readonly passwordHash: string;
}
