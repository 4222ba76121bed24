import type { ListeningOptions } from './listening.ts';

/** The settings of a server, as `automate serve` takes them. */
export interface ServeOptions extends ListeningOptions, PageSettings, QueueLimits {
  readonly port: number;
  /** Ms for which requests under way may go on after a signal. */
  readonly grace: number;
  /** False if a run that a crash interrupted waits for a person. */
  readonly resume: boolean;
  /** False for a server without MCP tools. */
  readonly mcp: boolean;
  readonly log: 'text' | 'json';
  readonly env?: string;
  readonly allowHttp?: boolean;
  readonly cacert?: string;
  /** The folder for the files of records; undefined for none. */
  readonly files?: string;
}

/** The limits of runs and bodies. */
export interface QueueLimits {
  readonly maxRuns: number;
  readonly maxQueue: number;
  /** Bytes of one body. */
  readonly maxUpload: number;
  /** Bytes of all runs on disk. */
  readonly maxDisk: number;
  /** Ms after which ended runs are deleted. */
  readonly keep: number;
}

/** The settings of the page. */
export interface PageSettings {
  readonly ui: boolean;
  readonly edit?: boolean;
  readonly open?: boolean;
}
