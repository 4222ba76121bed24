import type { LoginTools } from './login-tokens.ts';
import type { TokenTools, WithSecret } from './oauth.ts';

export interface SourceTools extends TokenTools {
  readonly logins?: Pick<LoginTools, 'keeper' | 'wallNow' | 'ended' | 'loginPlace'>;
  wallNow(): number;
  /** For secrets that are not sent, such as passphrases. */
  withText(credential: string): WithSecret;
  /** Throws a Failure if the secret may not be sent to the origin. */
  refuseHost(credential: string, origin: string): void;
  /** Throws a Failure if the secret may not be sent to the origin. */
  withSecret(credential: string, origin: string): WithSecret;
  /** The stored login. Throws a Failure if it may not be used for the origin. Undefined for MCP servers, whose client logs in itself. */
  loginText?(credential: string, origin: string): string;
}
