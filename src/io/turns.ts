/** So many go on in one turn of the event loop. */
const atOnce = 8;

/** Makes a queue: of those put into it a few go on in the next turn of the event loop, in their order, the others in the turns behind it. */
export function inTurns(): (goOn: () => void) => void {
  const waiting: (() => void)[] = [];
  const goOnNow = () => {
    for (const goOn of waiting.slice(0, atOnce)) goOn();
    waiting.splice(0, atOnce);
    if (waiting.length > 0) setImmediate(goOnNow);
  };
  return (goOn) => {
    waiting.push(goOn);
    if (waiting.length === 1) setImmediate(goOnNow);
  };
}
