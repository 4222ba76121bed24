/** The target of the first link with `rel="next"` in a Link header (RFC 8288, 3); absent when there is none. */
export function nextLink(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  for (const [, target, parameters] of header.matchAll(/<([^>]*)>((?:\s*;\s*[^\s=;,]*(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*))?)*)/g)) {
    if (relations(parameters ?? '').includes('next')) return target;
  }
  return undefined;
}

/** A link has one `rel` that counts, the first; it may name several relations. */
function relations(parameters: string): string[] {
  for (const [, name, quoted, plain] of parameters.matchAll(/;\s*([^\s=;,]*)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,]*)))?/g)) {
    if (name?.toLowerCase() === 'rel') return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
  }
  return [];
}
