interface Head {
  readonly columns: readonly { readonly name: string; readonly width: number; readonly length: number }[];
}

/**
 * A table with columns of numbers and strings that was read from a file. The first line of the file is JSON that lists the columns, and the
 * bytes of the columns follow it.
 */
export class Columns<Meta> {
  readonly meta: Meta;
  readonly #parts = new Map<string, { readonly bytes: Buffer; readonly width: number; readonly length: number }>();

  constructor(file: Buffer) {
    let start = file.indexOf('\n') + 1;
    const head = JSON.parse(file.toString('utf8', 0, start)) as Head & Meta;
    this.meta = head;
    for (const { name, width, length } of head.columns) {
      const end = start + width * length;
      this.#parts.set(name, { bytes: file.subarray(start, end), width, length });
      start = end;
    }
  }

  /** Returns the bytes of a column that contains strings. */
  bytes(name: string): Buffer {
    return this.#part(name).bytes;
  }

  /**
   * Returns the numbers in a column. In the file, the lowest bytes of all numbers come first, followed by all second-lowest bytes, and so
   * on.
   */
  numbers(name: string): Uint32Array {
    const { bytes, width, length } = this.#part(name);
    const numbers = new Uint32Array(length);
    for (let plane = 0; plane < width; plane++) {
      const start = plane * length;
      for (let index = 0; index < length; index++)
        numbers[index] = (numbers[index] as number) + (bytes[start + index] as number) * 256 ** plane;
    }
    return numbers;
  }

  /** Returns the running sums of a column. Each sum contains all numbers before its index, and the last sum contains all numbers. */
  starts(name: string): Uint32Array {
    const numbers = this.numbers(name);
    const starts = new Uint32Array(numbers.length + 1);
    for (let index = 0; index < numbers.length; index++) starts[index + 1] = (starts[index] as number) + (numbers[index] as number);
    return starts;
  }

  #part(name: string) {
    const part = this.#parts.get(name);
    if (!part) throw new Error(`no column "${name}"`);
    return part;
  }
}
