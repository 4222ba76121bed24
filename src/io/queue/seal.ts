import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, scryptSync } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Compresses and encrypts the data that a queue stores in Redis. */
export interface Seal {
  /** A string that identifies the queue key without revealing it; `none` if there is no key. */
  readonly fingerprint: string;
  /** Returns true if the fingerprint belongs to the same queue key. */
  fits(fingerprint: string): boolean;
  /**
   * Compresses and encrypts text. `about` is the context of the text, such as the run and the unit. The text can be unsealed only with the
   * same context.
   */
  seal(text: string, about: string): Buffer;
  /**
   * Returns the original text. It is undefined if the bytes were changed, or if they were sealed for a different context, with a different
   * key, or without a key.
   */
  unseal(bytes: Uint8Array, about: string): string | undefined;
  /** Parses sealed JSON and returns its value. Undefined if the text cannot be unsealed or is not JSON. */
  unsealValue(bytes: Uint8Array, about: string): unknown;
  /** Returns a hash of the text for the names of Redis keys. If there is a queue key, the hash does not reveal the text. */
  hash(text: string): string;
}

/** Texts of up to this many bytes are not compressed, because compression would hardly make them shorter. */
const minPackedBytes = 200;

const ivBytes = 12;
const tagBytes = 16;

/** Flags in the first byte of sealed text. The encryption also protects this byte against changes. */
const isPacked = 1;
const isEncrypted = 2;

/**
 * Creates a seal. If `key` is undefined, text is only compressed. Otherwise, an encryption key is derived from `key`, which takes about 60
 * ms and 32 MB.
 */
export function createSeal(key: string | undefined, queueName: string): Seal {
  const derived = key === undefined ? undefined : deriveKey(key, queueName);
  const hash = (text: string) => (derived ? createHmac('sha256', derived) : createHash('sha256')).update(text).digest('hex').slice(0, 32);
  const fingerprint = derived ? hash('fingerprint') : 'none';
  const seal: Seal = {
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
    unsealValue(bytes, about) {
      try {
        return JSON.parse(seal.unseal(bytes, about) ?? '');
      } catch {
        return undefined;
      }
    },
  };
  return seal;
}

/**
 * Derives the encryption key from the queue key. All processes of a queue must get the same result, so the salt is the queue's name, which
 * is not secret.
 */
function deriveKey(key: string, queueName: string): Buffer {
  return scryptSync(key.normalize('NFKC'), `automate queue ${queueName}`, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 });
}

/**
 * Returns the bytes that are authenticated together with sealed text: the first byte of the sealed text, the name of the queue, and the
 * context.
 */
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

/** Decrypts bytes. Throws an Error if any of them was changed. */
function decrypt(bytes: Uint8Array, key: Buffer, about: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
  decipher.setAAD(about);
  decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]);
}
