import type { MaxErrors } from '../../engine/max-errors.ts';
import type { InputOptions } from '../input-options.ts';

/** The options of `automate run`. */
export interface RunOptions extends InputOptions {
  readonly out: string;
  readonly outFormat?: string;
  readonly errors?: string;
  readonly limit?: number;
  readonly skip?: number;
  readonly concurrency?: number;
  /** Ms between two requests. */
  readonly rate?: number;
  readonly maxErrors?: MaxErrors;
  readonly maxCredits?: number;
  readonly unordered?: boolean;
  readonly csvSafe?: boolean;
  readonly resume?: boolean;
  readonly dryRun?: boolean;
  /** Whose credentials: `staging`; absent for those of AUTOMATE_ENV. */
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
  readonly events?: string;
  readonly summary?: string;
  readonly force?: boolean;
  readonly quiet?: boolean;
  /** Whether its credits are nobody's; no option of the command line. */
  readonly isFree?: boolean;
}
