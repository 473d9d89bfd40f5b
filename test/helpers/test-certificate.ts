/**
 * A certificate by its own authority for `service.test`, `localhost` and 127.0.0.1, good until 2126, with its private key:
 * for servers of tests that speak TLS. Made by
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=service.test -addext subjectAltName=DNS:service.test,DNS:localhost,IP:127.0.0.1`.
 */
export const testCertificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgv/lFLD7CjwMdOq9/
cTvaHX/JqX9Ah56pz4/q9tr0YLmhRANCAASTLUc0J5/QnPZaLk3Hc4WK576/gneD
BGvm3JoHD3ZpPFjHdRPe8lyQde1Mk6M08uzzO5dqvBvV4yIaxThwW2m2
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBrzCCAVWgAwIBAgIUAu1xzQNQXYjovFJ5q5Ho4TeQx/EwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMc2VydmljZS50ZXN0MCAXDTI2MTEyMTA4MjIzOFoYDzIxMjYx
MDI4MDgyMjM4WjAXMRUwEwYDVQQDDAxzZXJ2aWNlLnRlc3QwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAASTLUc0J5/QnPZaLk3Hc4WK576/gneDBGvm3JoHD3ZpPFjH
dRPe8lyQde1Mk6M08uzzO5dqvBvV4yIaxThwW2m2o30wezAdBgNVHQ4EFgQUUKEP
JDLnW0GtmszvLu+PJuswAtQwHwYDVR0jBBgwFoAUUKEPJDLnW0GtmszvLu+PJusw
AtQwDwYDVR0TAQH/BAUwAwEB/zAoBgNVHREEITAfggxzZXJ2aWNlLnRlc3SCCWxv
Y2FsaG9zdIcEfwAAATAKBggqhkjOPQQDAgNIADBFAiBDUWfTJeZ5UUZ/uDplHACh
m6NkzNR/UqRneUkdX7PPFwIhAPp6WM5TBEsqX2iK7Vnj3NnIH5FrrM2LoX328WIE
F90b
-----END CERTIFICATE-----`,
} as const;
