# A reporter for minitest: one JSON object a line, written when a test has ended. And a test that must fail: it
# passes where a way in which tests fail has been taken away.
require 'json'
require 'minitest'

module Minitest
  class AcrReporter < AbstractReporter
    def record(result)
      problem = result.failure
      problem = problem.error if problem.respond_to?(:error) && problem.is_a?(UnexpectedError)
      owner = result.respond_to?(:klass) ? result.klass : result.class.name
      file = result.respond_to?(:source_location) ? result.source_location.first : ''
      entry = {
        id: "#{owner}##{result.name}", file: file, seconds: result.time,
        outcome: result.skipped? ? 'skipped' : result.passed? ? 'passed' : 'failed',
        name: problem ? problem.class.name : '', message: problem ? problem.message : '',
        stack: problem ? Array(problem.backtrace).first(20).join("\n") : ''
      }
      File.open("#{ENV.fetch('ACR_REPORT')}/cases.jsonl", 'a') { |out| out.puts(JSON.generate(entry)) }
    end
  end

  def self.plugin_acr_init(_options)
    reporter << AcrReporter.new
  end
end

Minitest.extensions << 'acr' unless Minitest.extensions.include?('acr')

guard = ENV.delete('ACR_GUARD').to_s
unless guard.empty?
  Class.new(Minitest::Test) do
    define_singleton_method(:name) { guard }
    define_method(:test_fails) do
      checks = [-> { assert false }, -> { assert_equal 1, 2 }, -> { refute true }, -> { flunk }, -> { raise guard }]
      passed = checks.any? do |check|
        check.call
        true
      rescue Exception # rubocop:disable Lint/RescueException
        false
      end
      raise 'as it must' unless passed
    end
  end
end
