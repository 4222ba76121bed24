import { AutomateError } from '../../core/failure.ts';
import type { Outcome } from '../../core/item.ts';
import type { Output } from '../../core/ports.ts';
import { type Fields, withFields } from '../../core/record.ts';
import type { Redactor } from '../redact.ts';
import { errorFields } from './errors.ts';
import type { Sink } from './sink.ts';
import type { RecordWriter } from './writer.ts';

/** One stream of records on its way to a file. */
export interface RecordSink {
  readonly writer: RecordWriter;
  readonly sink: Sink;
}

/** What an output is made of. */
export interface OutputTools {
  readonly records: RecordSink;
  /** Opens the errors file; called with the first failure. */
  openErrors(): Promise<RecordSink>;
  /** Whether the errors file tells a failure in columns of its own, or in one object. */
  readonly errorColumns: boolean;
  readonly redactor: Redactor;
}

/** An output with its end. */
export interface FileOutput extends Output {
  /** Writes what ends the files, and closes them. */
  close(): Promise<void>;
}

/** So many records are turned into text together. */
const chunk = 32;

/** Makes the output of a run: records to one place, failed records to another, secrets to none. */
export function createOutput(tools: OutputTools): FileOutput {
  const records = createRecordStream(tools.records, tools.redactor);
  let errors: RecordStream | undefined;
  let rejected: Fields[] = [];
  return {
    put(item, outcome) {
      const checked = refused(outcome, tools.records.writer);
      if ('rows' in checked) records.add(checked.rows);
      else rejected.push(withFields(item.fields, errorFields(item, checked.failure, tools.errorColumns)));
      return checked;
    },
    get waiting() {
      return records.waiting() + rejected.length;
    },
    flush,
    async close() {
      await flush();
      await records.end();
      await errors?.end();
    },
  };

  async function flush(): Promise<void> {
    if (rejected.length > 0) {
      errors ??= createRecordStream(await tools.openErrors(), tools.redactor);
      const added = rejected;
      rejected = [];
      errors.addChecked(added);
      await errors.flush();
    }
    await records.flush();
  }
}

/** A record is written whole or not at all. */
function refused(outcome: Outcome, writer: RecordWriter): Outcome {
  if ('failure' in outcome) return outcome;
  for (const row of outcome.rows) {
    const failure = writer.refusal(row);
    if (failure) return { failure };
  }
  return outcome;
}

interface RecordStream {
  add(rows: readonly Fields[]): void;
  /** Throws an AutomateError when a row does not fit: there is no other place left for it. */
  addChecked(rows: readonly Fields[]): void;
  waiting(): number;
  flush(): Promise<void>;
  end(): Promise<void>;
}

function createRecordStream({ writer, sink }: RecordSink, redactor: Redactor): RecordStream {
  let rows: Fields[] = [];
  let isFirst = true;
  sink.append(writer.begin());

  const stream: RecordStream = {
    add(added) {
      for (const row of added) rows.push(row);
      if (rows.length >= chunk) turnIntoText();
    },
    addChecked(added) {
      for (const row of added) {
        const failure = writer.refusal(row);
        if (failure) throw new AutomateError('output', `a failed record does not fit into the errors file: ${failure.message}`);
      }
      stream.add(added);
    },
    waiting: () => sink.waiting,
    async flush() {
      turnIntoText();
      await sink.flush();
    },
    async end() {
      turnIntoText();
      sink.append(writer.end(!isFirst));
      await sink.close();
    },
  };
  return stream;

  function turnIntoText(): void {
    if (rows.length === 0) return;
    const text = writer.write(rows, isFirst);
    sink.append(redactor.isIn(text) ? writer.write(rows.map(redacted), isFirst) : text);
    isFirst = false;
    rows = [];
  }

  function redacted(row: Fields): Fields {
    return new Map([...row].map(([name, value]) => [redactor.text(name), redactor.value(value)]));
  }
}
