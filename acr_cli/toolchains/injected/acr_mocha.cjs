// A reporter for mocha: one JSON object a line, written when a test has ended.
'use strict';

const fs = require('fs');

module.exports = function (runner) {
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
