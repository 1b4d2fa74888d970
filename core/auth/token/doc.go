// Package token tells who calls by the bearer tokens of an OAuth 2.1 authorization server: it makes a server a resource
// server. A token is a JWT, in the header Authorization and nowhere else. It has to be signed by the issuer, with a key that
// the issuer publishes, and has to be for this server.
//
// # What is looked at
//
//   - The signature, by a key of the issuer's JWKS that has the token's kid and is one for signatures. Algorithms are
//     RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA; none and those with a shared secret
//     are not taken, whatever the keys say, and a key that names its algorithm is used for that one alone. A token without a
//     kid is taken if the issuer has one key alone that it may be signed with.
//   - iss, which is one of the issuers; aud, which has this server in it; exp, which has to be there; nbf and iat, which
//     are not in the future. Clocks may differ by the leeway.
//   - typ of the header: at+jwt, JWT or nothing. A token that is clearly another kind is refused, even if it is for this
//     server: an ID token or a refresh token, which have at_hash or c_hash, or say so in token_use or typ.
//   - sub or client_id: a token that names nobody is refused. azp and cid stand for a client_id that is not there.
//   - scope or scp, either of which is a text with spaces or a list.
//
// # Keys
//
// The keys are where the issuer's metadata says (RFC 8414, or the OpenID configuration), or where [Options] say. They are
// fetched when the first token comes, and again beside the calls when they are some minutes old; after an hour without calls, the
// first one waits for them. A kid that is not known has them fetched at once, but not again and again: whoever makes kids up does
// not make us a burden to the issuer. If the issuer cannot be reached, the keys that are there are used for a day.
//
// Tokens are never logged, nor is anything of them told to anybody but the caller's own handlers.
package token
