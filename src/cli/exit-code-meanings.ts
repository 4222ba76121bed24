/** An exit code, or several, as the help, the manual page and the skill for agents explain it. */
interface ExitCodeMeaning {
  readonly code: string;
  readonly meaning: string;
  readonly next: string;
}

export const exitCodeMeanings: readonly ExitCodeMeaning[] = [
  {
    code: '0',
    meaning: 'every record succeeded',
    next: 'look at how often each path of a `map` was found: if the number is lower than expected, the path may have a typo',
  },
  {
    code: '1',
    meaning: 'a bug, or an unexpected failure',
    next: 'read the message; `automate test` and `automate doctor` found a problem',
  },
  { code: '2', meaning: 'the command line is wrong', next: 'correct the option in the message' },
  { code: '3', meaning: 'the flow is not valid', next: 'correct it at the line and column in the message' },
  {
    code: '4',
    meaning: 'finished, but some records failed',
    next: 'read the reasons in the errors file, correct the records or the flow, then `automate retry OUT`',
  },
  {
    code: '5',
    meaning: 'stopped early, such as by a limit; --resume continues',
    next: 'solve the cause in the message, then run the same command with `--resume`',
  },
  {
    code: '6',
    meaning: 'the input cannot be read, or has changed while it was read',
    next: 'correct the input, or add the option in the message',
  },
  { code: '7', meaning: 'a credential or connection is missing or refused', next: 'ask the user to set it' },
  {
    code: '73',
    meaning: 'the output exists or is in use, or a port is in use',
    next: 'choose another name, or ask the user which of the options in the message is right',
  },
  { code: '74', meaning: 'the output cannot be written', next: 'free space or choose another folder, then `--resume`' },
  { code: '129, 130, 143', meaning: 'interrupted by a signal; --resume continues', next: 'run the same command with `--resume`' },
  { code: '141', meaning: 'stdout was closed', next: 'nothing, if you closed it yourself, such as with `head`' },
];
