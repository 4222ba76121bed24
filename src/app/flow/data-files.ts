import { dataFilesOf, type Plan } from '../../core/plan.ts';

/** Reads the files in which the plan looks things up; the run then has them in memory. Throws an AutomateError (`input`). */
export async function readDataFiles(plan: Plan): Promise<void> {
  const files = dataFilesOf(plan);
  if (files.length === 0) return;
  const { pointsOfFile } = await import('../../io/lookups/points/points.ts');
  for (const file of files) await pointsOfFile(file);
}
