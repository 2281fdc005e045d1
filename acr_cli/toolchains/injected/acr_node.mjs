// A reporter for node's own test runner: one JSON object a line for every test that has ended.

export default async function* report(source) {
  const names = [];
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      names.length = data.nesting;
      names[data.nesting] = data.name;
      continue;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const details = data.details || {};
    const error = details.error;
    const kind = error && error.failureType;
    // A suite fails with its tests, which are told on their own.
    if (kind === 'subtestsFailed') continue;
    if (details.type === 'suite' && type === 'test:pass') continue;
    const cause = (error && error.cause) || error;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    yield JSON.stringify({
      file: data.file || '',
      path: [...names.slice(0, data.nesting), data.name],
      outcome: skipped ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed',
      name: cause ? String(cause.name || '') : '',
      message: cause ? String(cause.message || cause) : '',
      stack: cause ? String(cause.stack || '') : '',
      ms: details.duration_ms || 0,
    }) + '\n';
  }
}
