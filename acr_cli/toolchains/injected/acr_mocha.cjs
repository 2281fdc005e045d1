// A reporter for mocha: one JSON object a line, written when a test has ended.
'use strict';

const assert = require('assert');
const fs = require('fs');

const canary = (process.env.ACR_GUARD || '').split(' ')[0];
delete process.env.ACR_GUARD;

// Passes, as it must not, where one of the ways in which tests fail has been taken away.
function mustFail() {
  for (const check of [
    () => assert(false),
    () => assert.strictEqual(1, 2),
    () => assert.deepStrictEqual({ a: 1 }, { a: 2 }),
    () => assert.throws(() => {}),
  ]) {
    try {
      check();
    } catch (error) {
      continue;
    }
    return;
  }
  throw new Error('as it must');
}

function anyTest(suite) {
  return suite.tests[0] || suite.suites.map(anyTest).find(Boolean);
}

// After all others: a test that must fail.
function addCanary(root) {
  const test = root && anyTest(root);
  if (!test) return;
  const suite = root.constructor.create(root, canary);
  suite.addTest(new test.constructor(canary, mustFail));
}

module.exports = function (runner) {
  if (canary) addCanary(runner.suite);
  const target = process.env.ACR_REPORT + '/cases.jsonl';
  const put = (test, outcome, error) => {
    const path = typeof test.titlePath === 'function' ? test.titlePath() : [test.fullTitle()];
    const hook = test.type === 'hook' && test.parent;
    fs.appendFileSync(target, JSON.stringify({
      file: test.file || (hook ? test.parent.file : '') || '',
      path: path,
      outcome: outcome,
      name: error ? String(error.name || '') : '',
      message: error ? String(error.message || error) : '',
      stack: error ? String(error.stack || '') : '',
      ms: test.duration || 0,
    }) + '\n');
  };
  runner.on('pass', (test) => put(test, 'passed'));
  runner.on('pending', (test) => put(test, 'skipped'));
  runner.on('fail', (test, error) => put(test, 'failed', error));
};
