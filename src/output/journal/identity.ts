/**
 * Everything that a run's output depends on. The keys are descriptions, such as `the errors file`. A run can be resumed only if all values
 * are still the same.
 */
export type Identity = Readonly<Record<string, string>>;

/** The key for the absolute path of the errors file. */
export const errorsFileKey = 'the errors file';
