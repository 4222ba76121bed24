/** Everything that a run's output depends on, as texts to compare: a resumed run must have the same. */
export type Identity = Readonly<Record<string, string>>;

/** The part of an identity that is the full path of the errors file. */
export const errorsFileKey = 'the errors file';
