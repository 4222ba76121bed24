/** The types of `auth`, by the schemes that servers name (RFC 7617, RFC 6750, RFC 7616, AWS Signature Version 4). */
const own: Readonly<Record<string, string>> = { basic: 'basic', bearer: 'bearer', digest: 'digest', 'aws4-hmac-sha256': 'aws_sigv4' };

/**
 * Returns what a 401 asks for, if the request was signed in another way or not at all; undefined if there is nothing to say. `asked` is the
 * header WWW-Authenticate, and `sent` the request's header Authorization.
 */
export function challengeText(asked: string | undefined, sent: string | undefined): string | undefined {
  const schemes = schemesIn(asked ?? '');
  const sentScheme = sent?.trim().split(/\s/)[0]?.toLowerCase();
  if (schemes.length === 0 || schemes.some((scheme) => scheme.toLowerCase() === sentScheme)) return undefined;
  const known = schemes.map((scheme) => own[scheme.toLowerCase()]).find((type) => type !== undefined);
  const names = schemes.join(' or ');
  if (known === undefined) return `the server asks for ${names} authentication, which automate does not have`;
  return `the server asks for ${names} authentication; write auth: { type: ${known}, credential: NAME }`;
}

/** A challenge is a scheme, which parameters can follow (RFC 9110, 11.6.1). Both are separated by commas. */
function schemesIn(header: string): string[] {
  const unquoted = header.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const found = unquoted.matchAll(/(?:^|,)\s*([A-Za-z][\w!#$%&'*+.^`|~-]*)(?=\s*(?:,|$)|\s+[^\s=,])/g);
  return [...new Set([...found].map(([, scheme]) => scheme as string))].slice(0, 4);
}
