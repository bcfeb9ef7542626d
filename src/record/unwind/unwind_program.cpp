#include "record/unwind/unwind_program.h"

#include <array>
#include <limits>

namespace tidegauge::record {
namespace {

constexpr uint64_t kRbp = 6, kRsp = 7, kReturn = 16;  // numbers of the x86-64 psABI
constexpr size_t kMaxRemembered = 32;

// The DWARF expressions that compilers use here.
constexpr uint8_t kDeref = 0x06, kPlusUconst = 0x23, kBreg0 = 0x70;

enum class Where : uint8_t { kSame, kAtCfa, kExpression, kOther };
struct Saved {
  Where where = Where::kSame;
  int64_t offset = 0;
  std::span<const uint8_t> expression;
};
struct Row {
  bool cfa_known = false;
  uint64_t cfa_register = 0;
  int64_t cfa_offset = 0;
  std::span<const uint8_t> cfa_expression;  // if not empty, used instead
  Saved bp;
  Saved ra{Where::kOther, 0, {}};
  bool outermost = false;  // the return address is undefined
};

bool fits(int64_t offset) {
  return offset >= std::numeric_limits<int32_t>::min() &&
         offset <= std::numeric_limits<int32_t>::max();
}

// A single `breg N, offset` at the front of an expression.
bool takeRegister(ByteReader& expression, uint64_t& number, int64_t& offset) {
  uint64_t opcode = expression.number(1);
  if (opcode < kBreg0 || opcode > kBreg0 + 31) return false;
  number = opcode - kBreg0;
  offset = expression.sleb();
  return expression.ok() && fits(offset);
}

class Machine {
 public:
  Machine(const UnwindProgram& program, uint64_t address)
      : program_(program), address_(address), at_(program.begin) {}

  std::optional<Row> run() {
    if (!execute(program_.of_cie)) return std::nullopt;
    first_ = row_;
    at_ = program_.begin;
    reached_ = false;
    if (!execute(program_.of_fde)) return std::nullopt;
    return row_;
  }

 private:
  // False: damaged, or of an unknown kind.
  bool execute(std::span<const uint8_t> instructions) {
    ByteReader reader(instructions);
    while (!reader.atEnd() && !reached_) {
      auto opcode = static_cast<uint8_t>(reader.number(1));
      uint8_t low = opcode & 0x3f;
      switch (opcode >> 6) {
        case 1:
          advance(low);
          break;
        case 2:
          save(low, factored(reader.uleb()));
          break;
        case 3:
          restore(low);
          break;
        default:
          if (!other(opcode, reader)) return false;
      }
      if (!reader.ok()) return false;
    }
    return true;
  }

  bool other(uint8_t opcode, ByteReader& reader) {
    switch (opcode) {
      case 0x00:  // nop
        return true;
      case 0x02:
        advance(reader.number(1));
        return true;
      case 0x03:
        advance(reader.number(2));
        return true;
      case 0x04:
        advance(reader.number(4));
        return true;
      case 0x05: {  // offset_extended
        uint64_t number = reader.uleb();
        save(number, factored(reader.uleb()));
        return true;
      }
      case 0x06:
        restore(reader.uleb());
        return true;
      case 0x07:  // undefined
        put(reader.uleb(), {Where::kOther, 0, {}}, true);
        return true;
      case 0x08:  // same_value
        put(reader.uleb(), {Where::kSame, 0, {}});
        return true;
      case 0x09: {  // register: saved in another one, which the walk does not follow
        uint64_t number = reader.uleb();
        reader.uleb();
        put(number, {Where::kOther, 0, {}});
        return true;
      }
      case 0x0a:
        if (depth_ == remembered_.size()) return false;
        remembered_[depth_++] = row_;
        return true;
      case 0x0b:
        if (depth_ == 0) return false;
        row_ = remembered_[--depth_];
        return true;
      case 0x0c: {  // def_cfa
        uint64_t number = reader.uleb();
        setCfa(number, static_cast<int64_t>(reader.uleb()));
        return true;
      }
      case 0x0d:  // def_cfa_register
        setCfa(reader.uleb(), row_.cfa_offset);
        return true;
      case 0x0e:  // def_cfa_offset
        setCfa(row_.cfa_register, static_cast<int64_t>(reader.uleb()));
        return true;
      case 0x0f:  // def_cfa_expression
        row_.cfa_known = true;
        row_.cfa_expression = reader.take(reader.uleb());
        return !row_.cfa_expression.empty();
      case 0x10: {  // expression
        uint64_t number = reader.uleb();
        put(number, {Where::kExpression, 0, reader.take(reader.uleb())});
        return true;
      }
      case 0x11: {  // offset_extended_sf
        uint64_t number = reader.uleb();
        save(number, factoredSigned(reader.sleb()));
        return true;
      }
      case 0x12: {  // def_cfa_sf
        uint64_t number = reader.uleb();
        setCfa(number, factoredSigned(reader.sleb()));
        return true;
      }
      case 0x13:  // def_cfa_offset_sf
        setCfa(row_.cfa_register, factoredSigned(reader.sleb()));
        return true;
      case 0x14:  // val_offset
      case 0x15:  // val_offset_sf
      {
        uint64_t number = reader.uleb();
        reader.uleb();
        put(number, {Where::kOther, 0, {}});
        return true;
      }
      case 0x16: {  // val_expression
        uint64_t number = reader.uleb();
        reader.take(reader.uleb());
        put(number, {Where::kOther, 0, {}});
        return true;
      }
      case 0x2e:  // GNU_args_size
        reader.uleb();
        return true;
      default:  // set_loc: not written by any compiler; vendor extensions
        return false;
    }
  }

  int64_t factored(uint64_t offset) const { return factoredSigned(static_cast<int64_t>(offset)); }
  int64_t factoredSigned(int64_t offset) const {
    int64_t product = 0;
    return __builtin_mul_overflow(offset, program_.data_step, &product) ? 0 : product;
  }
  void advance(uint64_t steps) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(steps, program_.code_step, &bytes) ||
        __builtin_add_overflow(at_, bytes, &at_) || at_ > address_)
      reached_ = true;
  }
  void setCfa(uint64_t number, int64_t offset) {
    row_.cfa_known = true;
    row_.cfa_register = number;
    row_.cfa_offset = offset;
    row_.cfa_expression = {};
  }
  void put(uint64_t number, Saved saved, bool undefined = false) {
    if (number == kRbp) row_.bp = saved;
    if (number != kReturn) return;
    row_.ra = saved;
    row_.outermost = undefined;
  }
  void save(uint64_t number, int64_t offset) { put(number, {Where::kAtCfa, offset, {}}); }
  void restore(uint64_t number) {
    if (number == kRbp) row_.bp = first_.bp;
    if (number != kReturn) return;
    row_.ra = first_.ra;
    row_.outermost = first_.outermost;
  }

  const UnwindProgram& program_;
  uint64_t address_, at_;
  bool reached_ = false;
  Row row_, first_;
  std::array<Row, kMaxRemembered> remembered_{};
  size_t depth_ = 0;
};

bool setCfa(const Row& row, unwind_rule& rule) {
  uint64_t number = row.cfa_register;
  int64_t offset = row.cfa_offset, more = 0;
  bool is_indirect = !row.cfa_expression.empty();
  if (is_indirect) {  // breg N, offset · deref [· plus_uconst]
    ByteReader expression(row.cfa_expression);
    if (!takeRegister(expression, number, offset) || expression.number(1) != kDeref) return false;
    if (!expression.atEnd()) {
      if (expression.number(1) != kPlusUconst) return false;
      more = static_cast<int64_t>(expression.uleb());
    }
    if (!expression.ok() || !expression.atEnd()) return false;
  }
  if ((number != kRsp && number != kRbp) || !fits(offset) || more < 0 || more > 0x7fff)
    return false;
  rule.cfa = number == kRsp ? (is_indirect ? UNWIND_AT_SP : UNWIND_SP)
                            : (is_indirect ? UNWIND_AT_BP : UNWIND_BP);
  rule.cfa_offset = static_cast<int32_t>(offset);
  rule.cfa_more = static_cast<int16_t>(more);
  return true;
}

bool setBp(const Row& row, unwind_rule& rule) {
  if (row.bp.where == Where::kSame) return true;
  uint64_t number = 0;
  int64_t offset = row.bp.offset;
  if (row.bp.where == Where::kExpression) {  // breg rbp, offset
    ByteReader expression(row.bp.expression);
    if (!takeRegister(expression, number, offset) || number != kRbp || !expression.atEnd())
      return false;
    rule.bp = UNWIND_BP_AT_BP;
  } else if (row.bp.where == Where::kAtCfa && fits(offset)) {
    rule.bp = UNWIND_BP_AT_CFA;
  } else {
    return false;
  }
  rule.bp_offset = static_cast<int32_t>(offset);
  return true;
}

}  // namespace

unwind_rule ruleOf(const UnwindProgram& program, uint64_t address) {
  unwind_rule cut{};
  cut.cfa = UNWIND_CUT;
  std::optional<Row> row = Machine(program, address).run();
  if (!row) return cut;
  unwind_rule rule{};
  if (program.of_signal) {
    // The kernel's signal frame as libc describes it: CFA = the interrupted rsp, *(rsp + 160).
    bool as_known = setCfa(*row, rule) && rule.cfa == UNWIND_AT_SP && rule.cfa_offset == 160;
    rule = {};
    rule.cfa = UNWIND_SIGNAL;
    return as_known ? rule : cut;
  }
  if (row->outermost) {
    rule.cfa = UNWIND_END;
    return rule;
  }
  bool returns = row->ra.where == Where::kAtCfa && row->ra.offset == -8;
  if (!returns || !row->cfa_known || !setCfa(*row, rule) || !setBp(*row, rule)) return cut;
  return rule;
}

uint64_t ByteReader::number(size_t bytes) {
  uint64_t value = 0;
  std::span<const uint8_t> taken = take(bytes);
  for (size_t i = 0; i < taken.size(); ++i) value |= uint64_t{taken[i]} << (8 * i);
  return value;
}

int64_t ByteReader::signedNumber(size_t bytes) {
  unsigned shift = static_cast<unsigned>(64 - 8 * bytes);
  return static_cast<int64_t>(number(bytes) << shift) >> shift;
}

uint64_t ByteReader::uleb() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint64_t byte = number(1);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  ok_ = false;
  return 0;
}

int64_t ByteReader::sleb() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64;) {
    uint64_t byte = number(1);
    value |= (byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  ok_ = false;
  return 0;
}

std::span<const uint8_t> ByteReader::take(uint64_t bytes) {
  if (!ok_ || bytes > bytes_.size() - at_) {
    ok_ = false;
    at_ = bytes_.size();
    return {};
  }
  std::span<const uint8_t> taken = bytes_.subspan(at_, static_cast<size_t>(bytes));
  at_ += static_cast<size_t>(bytes);
  return taken;
}

}  // namespace tidegauge::record
