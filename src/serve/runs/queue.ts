/** Owners (API keys) take turns: next is the owner with the fewest runs under way, no matter how many of its runs wait. */
export class RunQueue<Run> {
  readonly #byOwner = new Map<string, Run[]>();

  get length(): number {
    return [...this.#byOwner.values()].reduce((sum, runs) => sum + runs.length, 0);
  }

  add(owner: string, run: Run): void {
    const runs = this.#byOwner.get(owner) ?? [];
    this.#byOwner.set(owner, runs);
    runs.push(run);
  }

  has(owner: string): boolean {
    return this.#byOwner.has(owner);
  }

  /** Removes a run of the owner with the fewest runs under way. */
  next(underWay: (owner: string) => number): Run | undefined {
    const [first] = [...this.#byOwner.keys()].sort((one, other) => underWay(one) - underWay(other));
    if (first === undefined) return undefined;
    const runs = this.#byOwner.get(first) as Run[];
    const run = runs.shift();
    // Moves the run's owner behind the other owners.
    this.#byOwner.delete(first);
    if (runs.length > 0) this.#byOwner.set(first, runs);
    return run;
  }

  /** False if the run is not waiting. */
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
