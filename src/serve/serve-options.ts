import type { MetricsAddress } from '../report/metrics/metrics-server.ts';
import type { RunWorkersOptions } from '../workers/run-workers.ts';
import type { ListeningOptions } from './listening.ts';

/** The settings of a server, as passed to `automate serve`. */
export interface ServeOptions extends ListeningOptions, PageSettings, QueueLimits, RunWorkersOptions {
  readonly port: number;
  /** Time in ms that requests in progress have to finish after a signal. */
  readonly grace: number;
  /** True if the server resumes runs that a crash interrupted. If it is false, such a run waits until a person resumes it. */
  readonly resume: boolean;
  /** False if the server does not provide MCP tools. */
  readonly mcp: boolean;
  readonly log: 'text' | 'json';
  /** The network address at which metrics are served; undefined if none are. */
  readonly metrics?: MetricsAddress;
  readonly env?: string;
  readonly allowHttp?: boolean;
  /** The folder of the files that flows send and save; undefined if there is none. */
  readonly files?: string;
}

/** Limits on the runs of the server and on request bodies. */
export interface QueueLimits {
  readonly maxRuns: number;
  readonly maxQueue: number;
  /** Maximum size of one request body in bytes. */
  readonly maxUpload: number;
  /** Maximum size of all runs on the disk in bytes. */
  readonly maxDisk: number;
  /** Time in ms after which ended runs are deleted. */
  readonly keep: number;
}

/** The settings of the server's web page. */
export interface PageSettings {
  readonly ui: boolean;
  readonly edit?: boolean;
  readonly open?: boolean;
}
