// What automate uses of ajv and ajv-formats, as one file.
export { Ajv } from 'ajv';
export { Ajv2020 } from 'ajv/dist/2020.js';
export { default } from 'ajv-formats';
