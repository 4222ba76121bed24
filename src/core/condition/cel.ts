import type { Environment } from '@marcbachmann/cel-js';

let library: typeof import('@marcbachmann/cel-js') | undefined;

/** Loads the CEL library. It is loaded only for flows with expressions, because it takes 8 ms. */
export async function loadExpressionLibrary(): Promise<void> {
  library ??= await import('@marcbachmann/cel-js');
}

export function createEnvironment(options?: ConstructorParameters<typeof Environment>[0]): Environment {
  if (!library) throw new Error('the library for expressions is not loaded');
  return new library.Environment(options);
}
