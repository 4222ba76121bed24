// The CEL engine as src/core uses it, loaded with the first expression: most flows have none.
export function Environment(options) {
  const cel = require('@marcbachmann/cel-js');
  return new cel.Environment(options);
}
