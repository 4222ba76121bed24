// The default export of ora as a CommonJS module.
module.exports = require('ora').default;
