/** Runs that wait for their turn. The keys that own the runs take turns, whatever the number of their runs. */
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

  /** Takes the next run; absent if none waits. */
  next(): Run | undefined {
    for (const [owner, runs] of this.#byOwner) {
      const run = runs.shift() as Run;
      // The owner goes to the end of the line.
      this.#byOwner.delete(owner);
      if (runs.length > 0) this.#byOwner.set(owner, runs);
      return run;
    }
    return undefined;
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
