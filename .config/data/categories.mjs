export function make() {
  return {};
}
