import type { Ledger } from '../core/ports.ts';

/** Makes a ledger of this run alone. `most`: how many credits it may spend; absent for any number. */
export function createRunLedger(most: number | undefined): Ledger & { spent(): number } {
  let held = 0;
  let spent = 0;
  return {
    hold() {
      if (most !== undefined && held + spent >= most) return false;
      held++;
      return true;
    },
    settle() {
      held--;
      spent++;
    },
    release() {
      held--;
    },
    spent: () => spent,
  };
}
