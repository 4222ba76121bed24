/**
 * Decodes text that is complete, as `decoder.decode(bytes)` does. Since Node 20.18.3 and 22.13, that call decodes windows-1252 (also named
 * iso-8859-1, latin1 and ascii, encoding.spec.whatwg.org) without its characters at 0x80 to 0x9f, such as the euro sign
 * (github.com/nodejs/node/issues/60888). Only a decoder that expects more bytes decodes them in all versions of Node.
 */
export function decodeAll(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): string {
  if (decoder.encoding !== 'windows-1252') return decoder.decode(bytes);
  return decoder.decode(bytes, { stream: true }) + decoder.decode();
}
