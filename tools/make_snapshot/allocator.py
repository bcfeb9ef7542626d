"""A small caching allocator of one device: what PyTorch's does, as far as a trace can show it.

Best fit per stream and pool, 512-byte rounding, segments of 2 MiB, 20 MiB or a multiple of 2 MiB,
split and merge, late frees, expandable segments, release of cached memory before an OOM. Blocks of
a segment form a chain:

    segment  |<-- active -->|<- inactive ->|<-- active -->|      prev/next, gap-free

Every event goes to record(action, stream, pool, address, size, block_bytes, stack).
"""

import bisect

MIB = 1 << 20
SMALL_LIMIT = MIB  # rounded requests up to this go to the small pool
FREE, ACTIVE, PENDING, UNMAPPED = range(4)
STATES = ("inactive", "active_allocated", "active_pending_free")

(ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP,
 OOM, SNAPSHOT, ANNOTATE) = range(10)
ACTIONS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
           "segment_map", "segment_unmap", "oom", "snapshot", "annotate")


def round_up(size, step):
    return -(-size // step) * step


class Block:
    __slots__ = ("address", "size", "requested", "state", "stack", "prev", "next", "segment")

    def __init__(self, address, size, state, segment):
        self.address, self.size, self.state, self.segment = address, size, state, segment
        self.requested = 0
        self.stack = None
        self.prev = self.next = None


class Segment:
    __slots__ = ("address", "size", "pool", "stack", "first", "expandable")

    def __init__(self, address, size, pool, stack, expandable):
        self.address, self.size, self.pool, self.stack = address, size, pool, stack
        self.expandable = expandable
        self.first = Block(address, size, UNMAPPED if expandable else FREE, self)


class Pool:
    """Free blocks of one stream, one pool id and one size class, in best-fit order."""

    __slots__ = ("stream", "id", "small", "order", "blocks", "holes")

    def __init__(self, stream, pool_id, small):
        self.stream, self.id, self.small = stream, pool_id, small
        self.order = []  # sorted (size, address)
        self.blocks = {}  # address → free block
        self.holes = {}  # address → unmapped block of an expandable segment

    def add(self, block):
        bisect.insort(self.order, (block.size, block.address))
        self.blocks[block.address] = block

    def remove(self, block):
        del self.order[bisect.bisect_left(self.order, (block.size, block.address))]
        del self.blocks[block.address]

    def take(self, size):
        at = bisect.bisect_left(self.order, (size, 0))
        if at == len(self.order):
            return None
        return self.blocks.pop(self.order.pop(at)[1])


class Allocator:
    def __init__(self, base_address, capacity, expandable, record):
        self.base, self.capacity, self.expandable, self.record = (
            base_address, capacity, expandable, record)
        self.top = base_address
        self.returned = {}  # size → addresses that the driver got back
        self.pools = {}
        self.segments = {}  # address → Segment
        self.pending = []  # blocks whose free waits for another stream
        self.reserved = self.active = 0

    # ---- the driver ----------------------------------------------------------------------------

    def driver_address(self, size):
        if self.returned.get(size):
            return self.returned[size].pop()
        address, self.top = self.top, self.top + round_up(size, 2 * MIB)
        return address

    # ---- the program's calls -------------------------------------------------------------------

    def alloc(self, requested, stream, pool_id, stack):
        """The block, or None after an OOM."""
        size = max(512, round_up(requested, 512))
        small = size <= SMALL_LIMIT
        pool = self.pools.get((stream, pool_id, small))
        if pool is None:
            pool = self.pools[(stream, pool_id, small)] = Pool(stream, pool_id, small)
        block = pool.take(size) or self.grow(pool, size, stack)
        if block is None:
            self.complete_pending()
            self.release_cached()
            block = pool.take(size) or self.grow(pool, size, stack)
            if block is None:
                self.record(OOM, stream, pool_id, self.capacity - self.reserved, size, 0, stack)
                return None
        rest = block.size - size
        if rest >= 512 if small or self.expandable else rest > MIB:
            tail = Block(block.address + size, rest, FREE, block.segment)
            self.link_after(block, tail)
            block.size = size
            pool.add(tail)
        block.state, block.requested, block.stack = ACTIVE, requested, stack
        self.active += block.size
        self.record(ALLOC, stream, pool_id, block.address, requested, block.size, stack)
        return block

    def free(self, block, stack, late=False):
        pool = block.segment.pool
        self.record(FREE_REQUESTED, pool.stream, pool.id, block.address, block.requested,
                    block.size, stack)
        if late:
            block.state = PENDING
            self.pending.append((block, stack))
        else:
            self.complete(block, stack)

    def complete_pending(self, count=None):
        """The first count late frees, or all, become real."""
        done, self.pending = self.pending[:count], self.pending[len(self.pending[:count]):]
        for block, stack in done:
            self.complete(block, stack)

    def empty_cache(self):
        self.complete_pending()
        self.release_cached()

    # ---- blocks --------------------------------------------------------------------------------

    def link_after(self, block, new):
        new.prev, new.next = block, block.next
        if block.next is not None:
            block.next.prev = new
        block.next = new

    def unlink(self, block):
        """Takes a block out of the chain; a neighbour has taken over its bytes."""
        if block.prev is not None:
            block.prev.next = block.next
        else:
            block.segment.first = block.next
        if block.next is not None:
            block.next.prev = block.prev

    def complete(self, block, stack):
        pool = block.segment.pool
        self.active -= block.size
        self.record(FREE_COMPLETED, pool.stream, pool.id, block.address, block.requested,
                    block.size, stack)
        block.state, block.stack = FREE, None
        self.merge(block, pool)

    def merge(self, block, pool):
        """Joins a free block, not in the pool's order, with its free neighbours; adds the result."""
        before, after = block.prev, block.next
        if before is not None and before.state == FREE:
            pool.remove(before)
            self.unlink(before)
            block.address, block.size = before.address, block.size + before.size
        if after is not None and after.state == FREE:
            pool.remove(after)
            self.unlink(after)
            block.size += after.size
        pool.add(block)
        return block

    # ---- segments ------------------------------------------------------------------------------

    def grow(self, pool, size, stack):
        """A block of at least size from the driver, in no pool's order; None if it has no memory."""
        if self.expandable:
            return self.map_more(pool, size, stack)
        if size <= SMALL_LIMIT:
            total = 2 * MIB
        else:
            total = 20 * MIB if size < 10 * MIB else round_up(size, 2 * MIB)
        if self.reserved + total > self.capacity:
            return None
        segment = Segment(self.driver_address(total), total, pool, stack, False)
        self.segments[segment.address] = segment
        self.reserved += total
        self.record(SEGMENT_ALLOC, pool.stream, pool.id, segment.address, total, 0, stack)
        return segment.first

    def map_more(self, pool, size, stack):
        page = 2 * MIB if pool.small else 20 * MIB
        start = self.find_room(pool, size) or self.reserve_range(pool, size, page, stack)
        if start.state == UNMAPPED:
            start = self.map_pages(start, size, page, stack)
        while start is not None and start.size < size:
            start = self.map_pages(start.next, size - start.size, page, stack)
        if start is not None:
            pool.remove(start)
        return start

    def find_room(self, pool, size):
        """First run of free and unmapped blocks that is long enough; its first block."""
        for address in sorted(pool.holes):
            block = pool.holes[address]
            if block.prev is not None and block.prev.state == FREE:
                block = block.prev
            start, room = block, 0
            while block is not None and block.state in (FREE, UNMAPPED):
                room += block.size
                if room >= size:
                    return start
                block = block.next
        return None

    def reserve_range(self, pool, size, page, stack):
        total = round_up(max(self.capacity // 8 * 9, size), page)
        segment = Segment(self.driver_address(total), total, pool, stack, True)
        pool.holes[segment.address] = segment.first
        self.segments[segment.address] = segment
        return segment.first

    def map_pages(self, block, size, page, stack):
        """Maps the first pages of an unmapped block; the free block that they became part of."""
        total = min(round_up(size, page), block.size)
        if self.reserved + total > self.capacity:
            return None
        pool = block.segment.pool
        self.reserved += total
        self.record(SEGMENT_MAP, pool.stream, pool.id, block.address, total, 0, stack)
        del pool.holes[block.address]
        if block.size > total:
            rest = Block(block.address + total, block.size - total, UNMAPPED, block.segment)
            self.link_after(block, rest)
            pool.holes[rest.address] = rest
            block.size = total
        block.state = FREE
        return self.merge(block, pool)

    def release_cached(self):
        """Gives every wholly free segment, or every wholly free page, back to the driver."""
        for pool in self.pools.values():
            for _, address in list(pool.order):
                block = pool.blocks[address]
                segment = block.segment
                if segment.expandable:
                    self.unmap_pages(block, pool)
                elif block.prev is None and block.next is None:
                    pool.remove(block)
                    del self.segments[segment.address]
                    self.returned.setdefault(segment.size, []).append(segment.address)
                    self.reserved -= segment.size
                    self.record(SEGMENT_FREE, pool.stream, pool.id, address, segment.size, 0, None)

    def unmap_pages(self, block, pool):
        page, origin = (2 * MIB if pool.small else 20 * MIB), block.segment.address
        begin = origin + round_up(block.address - origin, page)
        end = origin + (block.address + block.size - origin) // page * page
        if begin >= end:
            return
        pool.remove(block)
        self.reserved -= end - begin
        self.record(SEGMENT_UNMAP, pool.stream, pool.id, begin, end - begin, 0, None)
        head, tail = begin - block.address, block.address + block.size - end
        if tail:
            after = Block(end, tail, FREE, block.segment)
            self.link_after(block, after)
            pool.add(after)
        if head:
            hole = Block(begin, end - begin, UNMAPPED, block.segment)
            self.link_after(block, hole)
            block.size = head
            pool.add(block)
        else:
            block.address, block.size, block.state = begin, end - begin, UNMAPPED
            hole = block
        for other in (hole.prev, hole.next):  # unmapped neighbours become one
            if other is not None and other.state == UNMAPPED:
                del pool.holes[other.address]
                hole.address = min(hole.address, other.address)
                hole.size += other.size
                self.unlink(other)
        pool.holes[hole.address] = hole

    # ---- the state, for the snapshot -----------------------------------------------------------

    def ranges(self):
        """(segment, blocks) by address; an expandable segment gives one per mapped range."""
        for segment in sorted(self.segments.values(), key=lambda s: s.address):
            blocks, block = [], segment.first
            while block is not None:
                if block.state != UNMAPPED:
                    blocks.append(block)
                elif blocks:
                    yield segment, blocks
                    blocks = []
                block = block.next
            if blocks:
                yield segment, blocks
