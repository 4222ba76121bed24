import { type Auth, authKey } from '../../core/auth/auth.ts';
import type { RequestSigner, SignerSecret, SignerTools } from './request-signers.ts';

type SignerType<Type extends Auth['type']> = (
  auth: Extract<Auth, { type: Type }>,
  secret: SignerSecret,
  tools: SignerTools,
) => RequestSigner;

/** To add a type that signs requests, add a file to this folder and a line here. A type is loaded at its first request. */
const signerTypes = {
  aws_sigv4: async () => (await import('./aws-signer.ts')).awsSigner,
  digest: async () => (await import('./digest-signer.ts')).digestSigner,
  hmac: async () => (await import('./hmac-signer.ts')).hmacSigner,
} satisfies { readonly [Type in Auth['type']]?: () => Promise<SignerType<Type>> };

/** Creates one signer for each way to sign, secret and origin, so that what a signer has learned from a server serves all requests. */
export class RequestSigners {
  readonly #tools: SignerTools;
  readonly #signers = new Map<string, Promise<RequestSigner>>();

  constructor(tools: SignerTools) {
    this.#tools = tools;
  }

  of(auth: Auth, secret: SignerSecret): Promise<RequestSigner> {
    const key = `${secret.origin} ${authKey(auth)} ${secret.text}`;
    const signer = this.#signers.get(key) ?? this.#create(auth, secret);
    this.#signers.set(key, signer);
    return signer;
  }

  async #create(auth: Auth, secret: SignerSecret): Promise<RequestSigner> {
    const create = (await signerTypes[auth.type as keyof typeof signerTypes]()) as unknown as SignerType<Auth['type']>;
    return create(auth as never, secret, this.#tools);
  }
}
