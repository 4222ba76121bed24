// The default export of conf as a CommonJS module.
module.exports = require('conf').default;
