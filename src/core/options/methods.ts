/**
 * The methods of the IANA registry, without those that concern a connection: CONNECT and TRACE, and PRI, which is only reserved for HTTP/2.
 * The common ones come first.
 */
export const httpMethods = [
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH'],
  ...['ACL', 'BASELINE-CONTROL', 'BIND', 'CHECKIN', 'CHECKOUT', 'COPY', 'LABEL', 'LINK', 'LOCK', 'MERGE', 'MKACTIVITY'],
  ...['MKCALENDAR', 'MKCOL', 'MKREDIRECTREF', 'MKWORKSPACE', 'MOVE', 'ORDERPATCH', 'PROPPATCH', 'REBIND', 'UNBIND'],
  ...['UNCHECKOUT', 'UNLINK', 'UNLOCK', 'UPDATE', 'UPDATEREDIRECTREF', 'VERSION-CONTROL'],
] as const;

const bodiless: readonly string[] = ['GET', 'HEAD', 'DELETE'];

export function canHaveBody(method: string): boolean {
  return !bodiless.includes(method);
}
