/** The target of the first link with `rel="next"` in a Link header (RFC 8288, 3); absent when there is none. */
export function nextLink(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  for (const [, target, parameters] of header.matchAll(/<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*))?)*)/g)) {
    if (relations(parameters ?? '').includes('next')) return target;
  }
  return undefined;
}

/** A link has one `rel` that counts, the first; it may name several relations. */
function relations(parameters: string): string[] {
  const [, quoted, plain] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]*))/i.exec(parameters) ?? [];
  return (quoted ?? plain ?? '').toLowerCase().split(/\s+/);
}
