import { constants } from 'node:buffer';
import { createCipheriv, createDecipheriv, createHmac, randomBytes, scryptSync } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

export interface Seal {
  /** A string that identifies the queue key without revealing it. */
  readonly fingerprint: string;
  fits(fingerprint: string): boolean;
  /** `about` is the context, such as the run and the unit. The text can be unsealed only with the same context. */
  seal(text: string, about: string): Buffer;
  /**
   * Undefined if the bytes were changed, or were sealed for a different context or with a different key, or if the text is longer than
   * `maxBytes`.
   */
  unseal(bytes: Uint8Array, about: string, maxBytes?: number): string | undefined;
  /** Undefined if the text cannot be unsealed or is not JSON. */
  unsealValue(bytes: Uint8Array, about: string, maxBytes?: number): unknown;
  /** Returns a hash of the text for the names of Redis keys. Without the queue key, the hash does not reveal the text. */
  hash(text: string): string;
}

/** Texts of up to this many bytes are not compressed, because compression would hardly make them shorter. */
const minPackedBytes = 200;

const ivBytes = 12;
const tagBytes = 16;

/** The first byte of sealed text that is compressed; otherwise it is 0. The encryption also protects this byte against changes. */
const isPacked = 1;

/** Deriving the encryption key takes about 60 ms and 32 MB. */
export function createSeal(key: string, queueName: string): Seal {
  const derived = deriveKey(key, queueName);
  const hash = (text: string) => createHmac('sha256', derived).update(text).digest('hex').slice(0, 32);
  const fingerprint = hash('fingerprint');
  const seal: Seal = {
    fingerprint,
    fits: (other) => other === fingerprint,
    hash: (text) => hash(`name ${text}`),
    seal(text, about) {
      const bytes = Buffer.from(text);
      const packed = bytes.length > minPackedBytes;
      const body = packed ? deflateRawSync(bytes, { level: 1 }) : bytes;
      const head = Buffer.of(packed ? isPacked : 0);
      return Buffer.concat([head, ...encrypt(body, derived, aboutBytes(head, queueName, about))]);
    },
    // A longer text than the default could not be a string.
    unseal(bytes, about, maxBytes = constants.MAX_STRING_LENGTH) {
      try {
        const head = bytes.subarray(0, 1);
        const body = decrypt(bytes.subarray(1), derived, aboutBytes(head, queueName, about));
        return (head[0] === isPacked ? inflateRawSync(body, { maxOutputLength: maxBytes }) : body).toString();
      } catch {
        return undefined;
      }
    },
    unsealValue(bytes, about, maxBytes) {
      try {
        return JSON.parse(seal.unseal(bytes, about, maxBytes) ?? '');
      } catch {
        return undefined;
      }
    },
  };
  return seal;
}

/** All processes of a queue must get the same result, so the salt is the queue's name, which is not secret. */
function deriveKey(key: string, queueName: string): Buffer {
  return scryptSync(key.normalize('NFKC'), `automate queue ${queueName}`, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 });
}

/** Authenticated with sealed text: the first byte of the sealed text, the name of the queue, and the context. */
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
