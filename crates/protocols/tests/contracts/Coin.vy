# pragma version ~=0.4.3
# A coin, and the share token of a pool: anyone mints, nobody is asked for an allowance.

balanceOf: public(HashMap[address, uint256])
totalSupply: public(uint256)


@external
def mint(to: address, amount: uint256) -> bool:
    self.balanceOf[to] += amount
    self.totalSupply += amount
    return True


@external
def burnFrom(owner: address, amount: uint256) -> bool:
    self.balanceOf[owner] -= amount
    self.totalSupply -= amount
    return True


@external
def mint_relative(to: address, fraction: uint256) -> uint256:
    amount: uint256 = self.totalSupply * fraction // 10**18
    self.balanceOf[to] += amount
    self.totalSupply += amount
    return amount


@external
def transfer(to: address, amount: uint256) -> bool:
    self.balanceOf[msg.sender] -= amount
    self.balanceOf[to] += amount
    return True


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.balanceOf[owner] -= amount
    self.balanceOf[to] += amount
    return True
