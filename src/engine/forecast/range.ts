/** How many of something there will be: at least, as expected, and at most. `most` can be infinite. */
export interface Range {
  readonly least: number;
  /**
   * When every answer is a success that leads to one record, every condition behind the first request is true,
   * loops and polls are over after one pass, and no cache answers.
   */
  readonly expected: number;
  readonly most: number;
}
