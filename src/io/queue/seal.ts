import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, scryptSync } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Packs and seals the texts that lie in Redis. */
export interface Seal {
  /** Tells the keys of two seals apart, and nothing about them. */
  readonly fingerprint: string;
  /** True if a seal with this fingerprint has the same key. */
  fits(fingerprint: string): boolean;
  /** Seals a text. `about`: its place, such as the run and the unit. */
  seal(text: string, about: string): Buffer;
  /** The sealed text. Undefined if it was changed, comes from another place, or was sealed with another key or none. */
  unseal(bytes: Uint8Array, about: string): string | undefined;
  /** A name for use in a key: it does not show the text. */
  hash(text: string): string;
}

/** Shorter texts become no shorter when packed. In bytes. */
const minPackedBytes = 200;

const ivBytes = 12;
const tagBytes = 16;

/** The first byte of a sealed text: a sum of these. It is authenticated with the text. */
const isPacked = 1;
const isEncrypted = 2;

/** `key`: undefined if texts are only packed. The key is derived here, which takes some 60 ms and 32 MB. */
export function createSeal(key: string | undefined, queueName: string): Seal {
  const derived = key === undefined ? undefined : deriveKey(key, queueName);
  const hash = (text: string) => (derived ? createHmac('sha256', derived) : createHash('sha256')).update(text).digest('hex').slice(0, 32);
  const fingerprint = derived ? hash('fingerprint') : 'none';
  return {
    fingerprint,
    fits: (other) => other === fingerprint,
    hash: (text) => hash(`name ${text}`),
    seal(text, about) {
      const bytes = Buffer.from(text);
      const packed = bytes.length > minPackedBytes;
      const body = packed ? deflateRawSync(bytes, { level: 1 }) : bytes;
      const head = Buffer.of((packed ? isPacked : 0) + (derived ? isEncrypted : 0));
      return Buffer.concat([head, ...(derived ? encrypt(body, derived, aboutBytes(head, queueName, about)) : [body])]);
    },
    unseal(bytes, about) {
      const head = bytes[0] ?? 0;
      if (bytes.length === 0 || head > isPacked + isEncrypted || Boolean(head & isEncrypted) !== Boolean(derived)) return undefined;
      try {
        const rest = bytes.subarray(1);
        const body = derived ? decrypt(rest, derived, aboutBytes(bytes.subarray(0, 1), queueName, about)) : rest;
        return (head & isPacked ? inflateRawSync(body) : Buffer.from(body)).toString();
      } catch {
        return undefined;
      }
    },
  };
}

/** All processes of a queue derive the same key, so its salt is no secret. */
function deriveKey(key: string, queueName: string): Buffer {
  return scryptSync(key.normalize('NFKC'), `automate queue ${queueName}`, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 });
}

/** The bytes that are bound to a text. */
function aboutBytes(head: Uint8Array, queueName: string, about: string): Buffer {
  return Buffer.concat([head, Buffer.from(JSON.stringify([queueName, about]))]);
}

function encrypt(body: Uint8Array, key: Buffer, about: Buffer): Buffer[] {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  cipher.setAAD(about);
  const data = [cipher.update(body), cipher.final()];
  return [iv, cipher.getAuthTag(), ...data];
}

/** Throws if any byte was changed. */
function decrypt(bytes: Uint8Array, key: Buffer, about: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(about);
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
}
