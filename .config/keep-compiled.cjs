// Loaded before bin/automate.js: what V8 compiled for that run is kept beside the bundle, for later starts.
const { writeFileSync } = require('node:fs');
const vm = require('node:vm');

vm.Script = class extends vm.Script {
  constructor(source, { filename }) {
    super(source, { filename });
    process.once('exit', () => writeFileSync(process.env.COMPILED, this.createCachedData()));
  }
};
