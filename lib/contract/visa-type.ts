/** The one type of visa that grants a dataset; compared with its case (Passport 1.2, ControlledAccessGrants). */
export const grantType = 'ControlledAccessGrants';
