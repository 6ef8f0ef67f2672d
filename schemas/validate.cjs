// Validates values against JSON Schemas (draft 2020-12), one request a line on standard input:
//   {"id": NAME, "schema": SCHEMA, "value": VALUE}    the schema only the first time its id is used
// and answers each with one line: null, or a string that says what does not fit.
"use strict";

const Ajv2020 = require("ajv/dist/2020");
const readline = require("node:readline");

// An unknown keyword in a schema is an error: it would hold nothing.
const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
const validators = new Map();

function validator(id, schema) {
  if (!validators.has(id)) validators.set(id, ajv.compile(schema));
  return validators.get(id);
}

function verdict(line) {
  try {
    const { id, schema, value } = JSON.parse(line);
    const validate = validator(id, schema);
    return validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: "value", separator: "\n" });
  } catch (error) {
    return `cannot validate: ${error.message}`;
  }
}

const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on("line", (line) => process.stdout.write(`${JSON.stringify(verdict(line))}\n`));
