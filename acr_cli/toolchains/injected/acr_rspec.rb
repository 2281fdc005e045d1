# After all that was asked for: an example that must fail. It passes where a way in which examples fail was taken away.
guard = ENV.delete('ACR_GUARD').to_s
unless guard.empty?
  RSpec.describe(guard) do
    it('fails') do
      checks = [-> { expect(1).to eq(2) }, -> { expect(1).not_to eq(1) }, -> { raise guard }]
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
