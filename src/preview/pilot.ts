import type { Attempt } from '../core/action.ts';
import type { Event } from '../core/event.ts';
import { type Item, type Outcome, placeOf } from '../core/item.ts';
import type { Fields } from '../core/record.ts';
import { rounded } from '../core/spending.ts';
import { textOf } from '../core/value/value.ts';
import type { Redactor } from '../credentials/redact.ts';
import { createClock } from '../files/clock.ts';
import { untouched } from '../output/output.ts';
import { selectRecords } from '../output/selected-records.ts';
import { lookForOld } from '../output/update/claimed-memory.ts';
import type { PilotPath, PilotView, RunView } from '../report/run-view.ts';
import { addToTally, createTally } from '../report/tally.ts';
import { readDataFiles } from '../run/flow-file.ts';
import type { RunRequest } from '../run/run-request.ts';
import { Forecaster } from './forecast/forecast.ts';

export interface Chosen {
  readonly all: ReadonlySet<number>;
  readonly atRandom: ReadonlySet<number>;
}

interface Choice {
  readonly count: number;
  /** Records of earlier pilots of the run. Their first and last are not chosen again. */
  readonly tried: ReadonlySet<number>;
  /** Returns a number from 0 up to, but not including, 1. */
  random(): number;
}

/** Reads the whole input. Undefined if it has no more records than are asked for. */
export async function chooseRecords(request: RunRequest, redactor: Redactor, choice: Choice): Promise<Chosen | undefined> {
  const sample = new Sample(choice);
  // A record has also changed if joined files add other values to it.
  const release = request.options.update ? await readDataFiles(request.plan) : undefined;
  try {
    await forEachRecord(request, redactor, (item) => sample.add(placeOf(item)));
  } finally {
    release?.();
  }
  return sample.chosen();
}

/** Records that will run: with `update`, those that are new or have changed. */
async function forEachRecord(request: RunRequest, redactor: Redactor, act: (item: Item) => Promise<void> | void): Promise<void> {
  const { plan, options, files } = request;
  const source = await request.open(untouched);
  try {
    const memory = options.update ? await lookForOld({ plan, options, files, source, redactor }) : undefined;
    try {
      const takeOver = memory && ((item: Item) => memory.takeOver(item));
      for await (const items of selectRecords(source, { options, plan, format: files.format, takeOver }))
        for (const item of items) if (!item.unchanged) await act(item);
    } finally {
      memory?.close();
    }
  } finally {
    await source.close();
  }
}

/** Takes the first record, the last, and a random sample of those between them (algorithm R by Vitter, 1985). @internal */
export class Sample {
  readonly #choice: Choice;
  readonly #size: number;
  readonly #picked: number[] = [];
  #between = 0;
  #total = 0;
  #first: number | undefined;
  #last: number | undefined;

  constructor(choice: Choice) {
    this.#choice = choice;
    this.#size = Math.max(0, choice.count - (choice.tried.size > 0 ? 0 : 2));
  }

  add(place: number): void {
    const { tried } = this.#choice;
    if (tried.has(place)) return;
    this.#total++;
    if (tried.size > 0) this.#offer(place);
    else if (this.#total === 1) this.#first = place;
    else {
      if (this.#last !== undefined) this.#offer(this.#last);
      this.#last = place;
    }
  }

  chosen(): Chosen | undefined {
    const { count } = this.#choice;
    if (this.#total <= count) return undefined;
    const ends = [this.#first, this.#last].filter((place) => place !== undefined).slice(0, count);
    return { all: new Set([...ends, ...this.#picked]), atRandom: new Set(this.#picked) };
  }

  #offer(place: number): void {
    this.#between++;
    if (this.#picked.length < this.#size) {
      this.#picked.push(place);
      return;
    }
    const at = Math.floor(this.#choice.random() * this.#between);
    if (at < this.#size) this.#picked[at] = place;
  }
}

/** The first row of a record, with only the fields that the flow has added or changed. */
export interface ShownRecord {
  readonly number: number;
  readonly rows: number;
  readonly cells: ReadonlyMap<string, string>;
}

interface FoundPath {
  readonly node: string;
  readonly path: string;
  /** The records chosen at random in whose answers it had a value. An answer in which it is null or empty is as good as none. */
  readonly found: Set<number>;
}

/** Characters of a cell that are kept for the table. */
const maxCell = 200;

const maxShown = 10;

/** Collects what the records of one or several pilots of a run have shown. */
export class PilotFindings {
  readonly tally = createTally();
  readonly tried = new Set<number>();
  readonly #atRandom = new Set<number>();
  readonly #paths = new Map<string, FoundPath>();
  readonly #records: ShownRecord[] = [];
  #requests = 0;
  #requestsMs = 0;

  begin({ all, atRandom }: Chosen): void {
    for (const place of all) this.tried.add(place);
    for (const place of atRandom) this.#atRandom.add(place);
  }

  attempt({ ms }: Attempt): void {
    this.#requests++;
    this.#requestsMs += ms;
  }

  event(event: Event): void {
    addToTally(this.tally, event);
    if (event.type !== 'mapped' || !this.#atRandom.has(event.record)) return;
    const { node, record, paths, found, empty } = event;
    for (const [index, path] of paths.entries()) {
      const key = JSON.stringify([node, path]);
      const counts = this.#paths.get(key) ?? { node, path, found: new Set() };
      this.#paths.set(key, counts);
      if (found[index] && !empty?.includes(path)) counts.found.add(record);
    }
  }

  finished({ number, fields }: Item, outcome: Outcome): void {
    if ('failure' in outcome) for (const { found } of this.#paths.values()) found.delete(number);
    if ('failure' in outcome || 'rendered' in outcome) return;
    const [row, rows] = 'rows' in outcome ? [outcome.rows[0], outcome.rows.length] : [outcome.spilled.first, outcome.spilled.rows];
    if (row) this.#records.push({ number, rows, cells: addedCells(row, fields) });
  }

  /** At most ten, from the first to the last. */
  shown(): readonly ShownRecord[] {
    const all = [...this.#records].sort((one, other) => one.number - other.number);
    if (all.length <= maxShown) return all;
    return Array.from({ length: maxShown }, (_, index) => all[Math.round((index * (all.length - 1)) / (maxShown - 1))] as ShownRecord);
  }

  /** `view` is that of the last pilot, with the credits and money of all of them. Reads the whole input while the run is open. */
  async measured(request: RunRequest, redactor: Redactor, view: RunView): Promise<PilotView> {
    const settings = { clock: createClock(), maxRequests: 0, ...(this.#requests > 0 && { latencyMs: this.#requestsMs / this.#requests }) };
    const [tried, rest] = [new Forecaster(request.plan, settings), new Forecaster(request.plan, settings)];
    await forEachRecord(request, redactor, (item) => (this.tried.has(placeOf(item)) ? tried : rest).add(item));
    const [before, after] = [tried.forecast(), rest.forecast()];
    /** A forecast does not know how many answers have more pages, or which conditions are true, but the records of the pilot do. */
    const scaled = (spent: number, forecast: number, expected: number) =>
      forecast > 0 ? (expected * spent) / forecast : (after.records * spent) / before.records;
    const requests = Math.ceil(rounded(scaled(this.#requests, before.actions.expected, after.actions.expected)));
    const costs = view.tokens.flatMap(({ cost }) => cost ?? []);
    const cost = costs.reduce((sum, each) => sum + each, 0);
    const more = after.actions.expected > 0 ? requests / after.actions.expected : 1;
    return {
      records: before.records,
      atRandom: this.#atRandom.size,
      paths: this.#pathsOf(this.#atRandom.size),
      rest: {
        records: after.records,
        requests,
        credits: rounded(scaled(view.credits.spent, before.credits.expected, after.credits.expected)),
        cost: costs.length === 0 ? undefined : rounded((cost * after.records) / before.records),
        ms: after.time && requests > 0 ? Math.round(after.time.ms * more) : undefined,
      },
    };
  }

  /** A record that failed, or that needed no answer, counts as one in which nothing was found: so it will be in the rest. */
  #pathsOf(of: number): PilotPath[] {
    if (of === 0) return [];
    return [...this.#paths.values()].map(({ node, path, found }) => ({
      ...{ node, path, found: found.size, of },
      expected: wilson(found.size, of),
    }));
  }
}

function addedCells(row: Fields, input: Fields): Map<string, string> {
  const added = [...row].filter(([name, value]) => !input.has(name) || textOf(value) !== textOf(input.get(name) ?? null));
  return new Map(added.map(([name, value]) => [name, textOf(value).slice(0, maxCell)]));
}

/** The 0.975 quantile of the normal distribution. */
const z = 1.959964;

/** The 95 % interval of a share by Wilson (1927), which also holds for few records, and for none or all of them. @internal */
export function wilson(found: number, of: number): readonly [least: number, most: number] {
  const share = found / of;
  const middle = share + z ** 2 / (2 * of);
  const half = z * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  const whole = 1 + z ** 2 / of;
  return [Math.max(0, (middle - half) / whole), Math.min(1, (middle + half) / whole)];
}
