/** Runs that wait for their turn. The keys that own the runs take turns, whatever the number of their runs: the key with the fewest under way comes first. */
export class Queue<Run> {
  readonly #byOwner = new Map<string, Run[]>();

  get length(): number {
    return [...this.#byOwner.values()].reduce((sum, runs) => sum + runs.length, 0);
  }

  add(owner: string, run: Run): void {
    const runs = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, runs);
    runs.push(run);
  }

  /** True if a run of an owner waits. */
  has(owner: string): boolean {
    return this.#byOwner.has(owner);
  }

  /** Takes the next run, of the owner that has the fewest under way; absent if none waits. */
  next(underWay: (owner: string) => number): Run | undefined {
    const [first] = [...this.#byOwner.keys()].sort((one, other) => underWay(one) - underWay(other));
    if (first === undefined) return undefined;
    const runs = this.#byOwner.get(first) as Run[];
    const run = runs.shift();
    // The owner goes to the end of the line.
    this.#byOwner.delete(first);
    if (runs.length > 0) this.#byOwner.set(first, runs);
    return run;
  }

  /** Removes a run. Returns false if the run does not wait. */
  remove(run: Run): boolean {
    for (const [owner, runs] of this.#byOwner) {
      const at = runs.indexOf(run);
      if (at === -1) continue;
      runs.splice(at, 1);
      if (runs.length === 0) this.#byOwner.delete(owner);
      return true;
    }
    return false;
  }
}
