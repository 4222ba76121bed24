// Loaded before bin/automate.js: what V8 compiled for that run is kept beside the bundle, for later starts.
const { writeFileSync } = require('node:fs');
const v8 = require('node:v8');
const vm = require('node:vm');

vm.Script = class extends vm.Script {
  constructor(source, { filename }) {
    super(source, { filename });
    // It is taken only where the flags are those of a start; what a run sets later is none of them.
    v8.setFlagsFromString = () => undefined;
    process.once('exit', () => writeFileSync(process.env.COMPILED, this.createCachedData()));
  }
};
