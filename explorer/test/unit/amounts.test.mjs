// Amounts are exact integers, and text about them never says more than they are.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { close, load } from "./load.mjs";

const { atomic, brief, dollars, exact, MOST, parseAmount, partBps, percent, rate, typed } = await load("/src/amounts.ts");
const { gapText, unproven } = await load("/src/quote/certificate.tsx");
after(close);

test("what is read is what was written, for every number of decimals", () => {
  let seed = 7n;
  const next = () => (seed = (seed * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n);
  for (let round = 0; round < 2_000; round += 1) {
    const amount = ((next() * next() * next() * next()) >> (next() % 250n)) % MOST || 1n;
    const decimals = Number(next() % 37n);
    assert.deepEqual(parseAmount(exact(amount, decimals), decimals), { amount });
  }
});

test("the edges of 256 bits, and what no amount is", () => {
  assert.deepEqual(parseAmount(MOST.toString(), 0), { amount: MOST });
  for (const [text, decimals] of [[(MOST + 1n).toString(), 0], ["0", 18], ["0.0", 18], ["", 18], [".", 18], ["1.5", 0], ["1,5", 2], ["1e3", 2], ["-1", 2], ["0x10", 2], ["٣", 2], ["1".repeat(300), 2]]) {
    assert.ok("problem" in parseAmount(text, decimals), text);
  }
  assert.deepEqual(parseAmount("1 000.50", 2), { amount: 100050n });
  assert.deepEqual(parseAmount(".5", 1), { amount: 5n });
  assert.deepEqual(parseAmount("1.500000", 1), { amount: 15n });
});

test("only plain integers of the API count as amounts", () => {
  assert.equal(atomic("0"), 0n);
  for (const odd of ["", "-1", "1.0", "0x1", "1".repeat(79), null, undefined]) assert.equal(atomic(odd), null);
});

test("short text is cut, never rounded up", () => {
  assert.equal(brief(1999999999999999999n, 18), "1.99999");
  assert.equal(brief(123456789n, 2), "1,234,567");
  assert.equal(brief(12345n, 18, 3), "1.23 × 10^−14");
  assert.equal(brief(5n, 6), "0.000005");
  assert.equal(brief(5n, 18), "5 × 10^−18");
  assert.equal(brief(0n, 18), "0");
  assert.equal(typed(1234567891234567891n, 18), "1.2345678");
  assert.equal(typed(123456789123n, 2), "1234567891");
  assert.equal(typed(123456n, 18), "0.000000000000123456");
  assert.equal(brief(MOST, 0), "1.157 × 10^77");
});

test("a rate has digits however cheap a token is, and whatever its decimals", () => {
  // 1,000,000 of 18 decimals for 5.43 of 6; 10^12 for 0.00000123 of 8; 1 for 3,000.5 of 6; 1 of 0 decimals for a third
  assert.equal(rate(10n ** 24n, 18, 5_430_000n, 6), "0.00000543");
  assert.equal(rate(10n ** 30n, 18, 123n, 8), "1.23 × 10^−18");
  assert.equal(rate(10n ** 18n, 18, 3_000_500_000n, 6), "3,000.5");
  assert.equal(rate(3n, 0, 1n, 0), "0.333333");
  assert.equal(rate(5_430_000n, 6, 10n ** 24n, 18), "184,162");
  assert.equal(rate(0n, 18, 1n, 6), "");
});

test("dollars have cents, or two digits below one", () => {
  assert.equal(dollars(10005.221381690004), "$10,005.22");
  assert.equal(dollars(0.000123456), "$0.00012");
  assert.equal(dollars(null), null);
  assert.equal(dollars(NaN), null);
});

test("a gap is never shown smaller than it is", () => {
  for (const bps of [0.0000001, 0.00099, 0.0011, 0.4278741322958068, 3.1401, 99.991, 100.2, 12345.6]) {
    assert.ok(Number(gapText(bps).replace(/[^\d.]/g, "")) >= bps, `${bps}: ${gapText(bps)}`);
  }
  assert.equal(gapText(0), "0 bps");
});

test("a certificate that proves nothing is not shown as one", () => {
  const certificate = { gap_bps: 0 };
  assert.equal(unproven({ certificate, warnings: [] }), undefined);
  assert.match(unproven({ certificate, warnings: [{ code: "BOUND_EXCEEDED", message: "several trades" }] }), /no bound .*: several trades\.$/);
  assert.match(unproven({ certificate: null, warnings: [{ code: "CERTIFICATE_UNAVAILABLE", message: "no price" }] }), /no certificate .* no price$/);
});

test("parts in basis points", () => {
  assert.equal(partBps(1n, 3n), 3333);
  assert.equal(partBps(2n, 3n), 6667);
  assert.equal(partBps(1n, 0n), 0);
  assert.equal(percent(3333), "33.33%");
});
